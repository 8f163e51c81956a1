// What users of node-postgres and postgres.js do. Writes one JSON object of what was seen.
const { Client, Pool } = require("pg");
const Cursor = require("pg-cursor");
const postgres = require("postgres");

const slow = process.argv[2];
const seen = {};
const failed = (error) => ({ code: error.code, hint: Boolean(error.hint) });

async function nodePostgres() {
  const client = new Client();
  const notices = [];
  client.on("notice", (notice) => notices.push(notice));
  await client.connect();
  seen.groups = (await client.query("SELECT town, count(*) AS n FROM people WHERE age > 22 GROUP BY town")).rows.map((row) => row.town);
  seen.notice = [notices[0].message, notices[0].detail];
  const asked = "SELECT count(*) AS n, avg(age) AS a FROM people WHERE age > $1 AND town = $2 AND born > $3";
  seen.parameters = (await client.query(asked, [30, "Oslo", new Date("1951-01-01")])).fields.map((field) => field.name);
  seen.named = [];
  for (const n of [1, 2, 3]) {
    seen.named.push((await client.query({ name: "town", text: "SELECT town FROM towns WHERE n = $1", values: [n] })).rows[0].town);
  }
  seen.any = (await client.query("SELECT n FROM towns WHERE town = ANY($1)", [["Bern", "Rome"]])).rowCount;
  const cursor = client.query(new Cursor("SELECT n FROM towns ORDER BY n"));
  seen.pages = [(await cursor.read(2)).length, (await cursor.read(2)).length, (await cursor.read(2)).length];
  await cursor.close();
  seen.refused = await client.query("SELECT age FROM people").catch(failed);
  seen.several = (await client.query("BEGIN; SELECT 1; COMMIT")).map((result) => result.command);
  seen.row = (await client.query("SELECT n, size, area, capital FROM towns WHERE town = 'Oslo'")).rows[0];
  await client.end();
  const pool = new Pool({ max: 2, statement_timeout: 500 });
  pool.on("error", () => {});
  seen.timeout = await pool.query(slow).catch(failed);
  seen.pool = (await Promise.all([1, 2, 3, 1].map((n) => pool.query("SELECT n FROM towns WHERE n = $1", [n])))).map((r) => r.rows[0].n);
  await pool.end();
}

async function postgresJs() {
  const notices = [];
  const sql = postgres({ onnotice: (notice) => notices.push(notice), connection: { "dp.epsilon": "0.5" } });
  seen.js = (await sql`SELECT town, count(*) AS n FROM people WHERE age > ${23} GROUP BY town`).map((row) => row.town);
  seen.jsNotice = notices.some((notice) => /cost 0.5 epsilon/.test(notice.message));
  seen.jsPages = [];
  await sql`SELECT n FROM towns ORDER BY n`.cursor(2, (rows) => { seen.jsPages.push(rows.length); });
  seen.jsShape = (await sql`SELECT town, n FROM towns`.describe()).columns.map((column) => column.name);
  seen.jsBlock = await sql.begin(async (block) => (await block`SELECT count(*) FROM people`).length);
  seen.jsIn = (await sql`SELECT count(*) FROM people WHERE town IN ${sql(["Bern", "Oslo"])}`).length;
  seen.jsAny = (await sql`SELECT n FROM towns WHERE town = ANY(${["Bern", "Rome"]})`).length;
  seen.jsRefused = await sql`SELECT x FROM nowhere`.catch(failed);
  const query = sql.unsafe(slow);
  setTimeout(() => query.cancel(), 300);
  seen.jsCancelled = await query.catch(failed);
  seen.jsAfter = (await sql`SELECT n FROM towns WHERE town = ${"Rome"}`)[0].n;
  await sql.end({ timeout: 5 });
}

nodePostgres().then(postgresJs).then(() => console.log(JSON.stringify(seen))).catch((error) => {
  console.error(error, JSON.stringify(seen));
  process.exit(1);
});
