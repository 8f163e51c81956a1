<?php
// PDO and the functions pg_*: prints what a program of its user sees, one JSON object.
$seen = [];
$pdo = new PDO("pgsql:", null, null, [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
foreach ([false, true] as $emulated) {
    $pdo->setAttribute(PDO::ATTR_EMULATE_PREPARES, $emulated);
    $asked = $pdo->prepare("SELECT town, count(*) AS n FROM people WHERE age > :age GROUP BY town");
    $asked->execute(["age" => 40]);
    $seen["groups"][] = array_column($asked->fetchAll(PDO::FETCH_ASSOC), "town");
}
$pdo->setAttribute(PDO::ATTR_EMULATE_PREPARES, false);
$asked = $pdo->prepare("SELECT n, size, founded, capital FROM towns WHERE town = ?");
$asked->execute(["Oslo"]);
$seen["row"] = $asked->fetch(PDO::FETCH_NUM);
$seen["meta"] = [$asked->getColumnMeta(0)["native_type"], $asked->getColumnMeta(3)["native_type"]];
try {
    $pdo->query("SELECT age FROM people");
} catch (PDOException $error) {
    $seen["refused"] = [$error->getCode(), str_contains($error->getMessage(), "HINT")];
}
$pdo->beginTransaction();
$cursor = $pdo->prepare("SELECT n FROM towns ORDER BY n", [PDO::ATTR_CURSOR => PDO::CURSOR_SCROLL]);
$cursor->execute();
$seen["fetched"] = [$cursor->fetchColumn(), $cursor->fetchColumn()];
$pdo->commit();
$seen["copied"] = array_map("trim", $pdo->pgsqlCopyToArray("towns", "\t", "NULL", "town"));

$db = pg_connect("");
$seen["tables"] = array_keys(array_filter(["towns" => pg_meta_data($db, "towns")]));
$seen["columns"] = array_map(fn($column) => $column["type"], pg_meta_data($db, "towns"));
$seen["list"] = pg_fetch_all_columns(pg_query_params($db, "SELECT n FROM towns WHERE town = ANY ($1) ORDER BY n", ["{Bern,Rome}"]));
$seen["selected"] = pg_select($db, "towns", ["n" => 2])[0]["town"];
pg_query($db, "SELECT count(*) FROM people");
$seen["notice"] = str_contains(implode("\n", pg_last_notice($db, PGSQL_NOTICE_ALL)), "left in budget");
pg_prepare($db, "one", "SELECT $1::int + 1");
$seen["prepared"] = pg_fetch_result(pg_execute($db, "one", [41]), 0, 0);
$seen["reset"] = pg_connection_reset($db);
echo json_encode($seen), "\n";
