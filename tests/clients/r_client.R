# DBI with RPostgreSQL, and dbplyr over it: prints what a program of its user sees, one JSON object.
suppressMessages({library(DBI); library(RPostgreSQL); library(dplyr)})

connected <- function() {
  env <- function(name) Sys.getenv(paste0("PG", name))
  con <- dbConnect(dbDriver("PostgreSQL"), host = env("HOST"), port = as.integer(env("PORT")), user = env("USER"),
    password = env("PASSWORD"), dbname = env("DATABASE"))
  invisible(dbGetQuery(con, "SET dp.notices = off"))
  con
}
seen <- list()
con <- connected()
seen$tables <- dbListTables(con)
seen$fields <- dbListFields(con, "towns")
seen$exists <- c(dbExistsTable(con, "towns"), dbExistsTable(con, "none"))
towns <- dbReadTable(con, "towns")
seen$classes <- unname(sapply(towns, function(column) class(column)[1]))
seen$row <- unname(sapply(towns[2, c("town", "n", "size", "founded", "capital")], as.character))
seen$parameter <- dbGetQuery(con, "SELECT n FROM towns WHERE town = $1 AND n >= $2", c("Bern", 1))$n
result <- dbSendQuery(con, "SELECT n FROM towns ORDER BY n")
seen$pages <- c(nrow(fetch(result, 2)), nrow(fetch(result, -1)))
invisible(dbClearResult(result))
seen$groups <- dbGetQuery(con, "SELECT town, count(*) AS n FROM people WHERE age > $1 GROUP BY town", 40)$town
refused <- suppressWarnings(tryCatch(dbGetQuery(con, "SELECT age FROM people"), error = function(e) NULL))
seen$refused <- c(is.null(refused), grepl("rows are not shown", dbGetException(con)$errorMsg))
seen$transaction <- dbWithTransaction(con, dbGetQuery(con, "SELECT 2 AS a")$a)

people <- tbl(con, "people")
public <- tbl(con, dbplyr::in_schema("public", "towns"))
seen$columns <- length(colnames(people))
seen$counted <- sort(pull(count(people, town), town))
summary <- people %>% filter(age > 30) %>% group_by(town) %>%
  summarise(n = n(), m = mean(income, na.rm = TRUE), s = sum(paid, na.rm = TRUE)) %>% arrange(desc(n)) %>% collect()
seen$summary <- c(nrow(summary), ncol(summary))
seen$share <- nrow(collect(people %>% count(town) %>% mutate(p = n / sum(n, na.rm = TRUE))))
seen$listed <- sort(pull(filter(public, town %in% c("Bern", "Rome"), founded < as.Date("2000-01-01")), town))
seen$joined <- nrow(collect(inner_join(count(people, town), public, by = "town")))
seen$explained <- length(capture.output(suppressWarnings(explain(count(public))))) > 3
invisible(dbDisconnect(con))
con <- connected()
seen$again <- dbGetQuery(con, "SELECT 1 AS a")$a
invisible(dbDisconnect(con))

json <- function(x) {
  items <- if (is.character(x)) encodeString(x, quote = '"') else if (is.logical(x)) tolower(x) else format(x)
  paste0("[", paste(items, collapse = ", "), "]")
}
cat("{", paste0('"', names(seen), '": ', sapply(seen, json), collapse = ", "), "}\n", sep = "")
