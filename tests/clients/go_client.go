// Go's lib/pq and pgx: prints what a program of their user sees, one JSON object.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgconn"
	"github.com/jackc/pgx/v4"
	"github.com/jackc/pgx/v4/pgxpool"
	"github.com/lib/pq"
)

var seen = map[string]any{}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func texts(rows *sql.Rows, err error) []string {
	must(err)
	defer rows.Close()
	found := []string{}
	for rows.Next() {
		var text string
		must(rows.Scan(&text))
		found = append(found, text)
	}
	must(rows.Err())
	return found
}

func libpq() {
	db, err := sql.Open("postgres", "sslmode=disable") // it knows no "prefer"
	must(err)
	defer db.Close()
	seen["tables"] = texts(db.Query("SELECT table_name FROM information_schema.tables WHERE table_schema = $1 ORDER BY 1", "public"))
	groups := "SELECT town FROM (SELECT town, count(*) FROM people WHERE age > $1 GROUP BY town) g ORDER BY town"
	seen["groups"] = texts(db.Query(groups, 40))
	seen["list"] = texts(db.Query("SELECT town FROM towns WHERE n = ANY($1) ORDER BY n", pq.Array([]int{1, 3})))
	seen["others"] = texts(db.Query("SELECT town FROM towns WHERE town <> ALL($1)", pq.Array([]string{"Bern", "Rome"})))
	rows, err := db.Query("SELECT town, n, size, founded, seen, area, capital FROM towns WHERE founded = $1", time.Date(1048, 1, 1, 0, 0, 0, 0, time.UTC))
	must(err)
	kinds, err := rows.ColumnTypes()
	must(err)
	names := []string{}
	for _, kind := range kinds {
		names = append(names, kind.DatabaseTypeName())
	}
	seen["types"] = names
	must(rows.Close())
	var failure *pq.Error
	_, err = db.Query("SELECT age FROM people")
	seen["refused"] = []any{errors.As(err, &failure) && failure.Code == "42501", failure != nil && failure.Hint != ""}
	tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelSerializable, ReadOnly: true})
	must(err)
	var count int
	must(tx.QueryRow("SELECT count(*) FROM towns").Scan(&count))
	must(tx.Rollback())
	seen["transaction"] = count
}

func pgxs() {
	ctx := context.Background()
	config, err := pgxpool.ParseConfig("pool_max_conns=2")
	must(err)
	pool, err := pgxpool.ConnectConfig(ctx, config)
	must(err)
	defer pool.Close()
	var size float64
	var founded time.Time
	var capital bool
	must(pool.QueryRow(ctx, "SELECT size, founded, capital FROM towns WHERE town = $1", "Oslo").Scan(&size, &founded, &capital))
	seen["row"] = []any{size, founded.Format("2006-01-02"), capital}
	var sum int64
	var text string
	must(pool.QueryRow(ctx, "SELECT $1::int8 + 1, $2::text", int64(1)<<40, "é").Scan(&sum, &text))
	seen["typed"] = []any{sum, text}
	batch := &pgx.Batch{}
	batch.Queue("SELECT count(*) FROM people")
	batch.Queue("SELECT 1 / $1::int", 0)
	batch.Queue("SELECT 1")
	results := pool.SendBatch(ctx, batch)
	var people int64
	must(results.QueryRow().Scan(&people))
	var failure *pgconn.PgError
	_, err = results.Exec()
	seen["batch"] = []any{people > 0, errors.As(err, &failure) && failure.Code == "22012", results.Close() != nil}
	soon, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	_, err = pool.Exec(soon, "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b")
	seen["cancelled"] = err != nil
	rows, err := pool.Query(ctx, "SELECT n FROM towns ORDER BY n", pgx.QuerySimpleProtocol(true))
	must(err)
	numbers := []int32{}
	for rows.Next() {
		var n int32
		must(rows.Scan(&n))
		numbers = append(numbers, n)
	}
	must(rows.Err())
	seen["simple"] = numbers
	_, err = pool.CopyFrom(ctx, pgx.Identifier{"towns"}, []string{"n"}, pgx.CopyFromRows([][]any{{1}}))
	seen["copied"] = errors.As(err, &failure) && failure.Code == "0A000"
}

func main() {
	libpq()
	pgxs()
	must(json.NewEncoder(os.Stdout).Encode(seen))
}
