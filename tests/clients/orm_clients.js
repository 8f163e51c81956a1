// What users of Sequelize and Kysely do. Writes one JSON object of what was seen.
const { Kysely, PostgresDialect, sql } = require("kysely");
const { Pool } = require("pg");
const { DataTypes, Op, QueryTypes, Sequelize, col, fn } = require("sequelize");

const { PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE } = process.env;
const seen = {};
const failed = (error) => ({ code: (error.parent ?? error).code, hint: Boolean((error.parent ?? error).hint) });
const near = (value, expected) => Math.abs(Number(value) - expected) < 60;

async function ofSequelize() {
  const sequelize = new Sequelize(PGDATABASE, PGUSER, PGPASSWORD, { host: PGHOST, port: PGPORT, dialect: "postgres", logging: false });
  await sequelize.authenticate();
  const shown = sequelize.getQueryInterface();
  seen.tables = (await shown.showAllTables()).sort();
  const columns = await shown.describeTable("people");
  seen.columns = Object.entries(columns).map(([name, of]) => `${name} ${of.type} ${of.allowNull} ${of.primaryKey}`);
  seen.comment = columns.town.comment;
  seen.indexes = (await shown.showIndex("people")).map((index) => [index.name, index.primary, index.fields.map((field) => field.attribute)]);
  seen.references = (await shown.getForeignKeyReferencesForTable("visits")).map((key) => [key.constraintName, key.columnName, key.referencedTableName]);
  const options = { timestamps: false, freezeTableName: true };
  const People = sequelize.define("people", { id: { type: DataTypes.INTEGER, primaryKey: true }, age: DataTypes.INTEGER, town: DataTypes.STRING, born: DataTypes.DATEONLY, seen: DataTypes.DATE }, options);
  const Visits = sequelize.define("visits", { cost: DataTypes.INTEGER, person: DataTypes.INTEGER }, options);
  const Towns = sequelize.define("towns", { town: { type: DataTypes.STRING, primaryKey: true }, n: DataTypes.INTEGER, founded: DataTypes.DATEONLY, area: DataTypes.DECIMAL }, options);
  Visits.removeAttribute("id");
  Visits.belongsTo(People, { foreignKey: "person", as: "who" });
  seen.count = near(await People.count({ where: { age: { [Op.gt]: 49 }, town: { [Op.in]: ["Bern", "Oslo"] } } }), 333);
  const counted = { attributes: ["town", [fn("COUNT", col("*")), "n"], [fn("AVG", col("age")), "mean"]], group: ["town"], order: ["town"], raw: true };
  seen.groups = (await People.findAll(counted)).map((row) => row.town);
  seen.sum = near(await People.sum("age") / 1000, 49.5);
  seen.average = near(await People.aggregate("age", "avg", { dataType: "float" }), 49.5);
  seen.distinct = await Visits.count({ distinct: true, col: "person" }) > 900;
  const joined = { attributes: [[col("who.town"), "town"], [fn("SUM", col("visits.cost")), "total"]], include: [{ model: People, as: "who", attributes: [] }], group: ["who.town"], order: [col("who.town")], raw: true };
  seen.joined = (await Visits.findAll(joined)).map((row) => row.town);
  seen.since = near(await People.count({ where: { born: { [Op.gte]: "1951-01-01" } } }), 635);
  seen.moment = near(await People.count({ where: { seen: { [Op.lt]: new Date("2021-01-01T00:00:00Z") } } }), 1000);
  seen.one = (await Towns.findByPk("Oslo")).get({ plain: true });
  const page = await Towns.findAndCountAll({ limit: 2, offset: 1, order: [["town", "ASC"]] });
  seen.page = [page.count, page.rows.map((row) => row.town)];
  seen.bound = (await sequelize.query("SELECT count(*)::int AS n FROM towns WHERE n > $1", { bind: [1], type: QueryTypes.SELECT }))[0].n;
  seen.replaced = (await sequelize.query("SELECT town FROM towns WHERE town IN (:towns) ORDER BY 1", { replacements: { towns: ["Bern", "Rome"] }, type: QueryTypes.SELECT })).length;
  seen.block = await sequelize.transaction((transaction) => Towns.count({ transaction }));
  seen.rows = await People.findAll().catch(failed);
  seen.missing = await sequelize.query("SELECT x FROM nowhere").catch(failed);
  seen.kept = await People.sync().then(() => "it is there");
  seen.made = await sequelize.define("mine", { x: DataTypes.INTEGER }, options).sync().catch(failed);
  seen.written = await Towns.create({ town: "Ulm" }).catch(failed);
  await sequelize.close();
}

async function ofKysely() {
  const pool = new Pool({ max: 2 });
  const db = new Kysely({ dialect: new PostgresDialect({ pool }) });
  const tables = (await db.introspection.getTables()).filter((table) => table.schema === "public");
  seen.kTables = tables.map((table) => [table.name, table.isView]).sort();
  seen.kColumns = tables.find((table) => table.name === "people").columns.map((column) => `${column.name} ${column.dataType} ${column.isNullable}`);
  seen.kSchemas = (await db.introspection.getSchemas()).some((schema) => schema.name === "public");
  const people = db.withSchema("public").selectFrom("people");
  const grouped = people.select(["people.town", (eb) => eb.fn.countAll().as("n"), (eb) => eb.fn.avg("people.age").as("mean")]);
  seen.kGroups = (await grouped.where("people.age", ">", 49).groupBy("people.town").orderBy("people.town").execute()).map((row) => row.town);
  seen.kParameters = near((await people.select((eb) => eb.fn.countAll().as("n")).where("town", "in", ["Bern", "Oslo"]).where("born", "<", new Date("1951-01-01")).executeTakeFirst()).n, 243);
  seen.kJoined = (await db.selectFrom("visits").innerJoin("people", "people.id", "visits.person").select(["people.town", ({ fn: of }) => of.sum("visits.cost").as("total")]).groupBy("people.town").orderBy("people.town").execute()).map((row) => row.town);
  seen.kFilter = near((await people.select((eb) => eb.fn.count("people.id").filterWhere("people.age", "<", 50).as("young")).executeTakeFirst()).young, 500);
  seen.kHaving = (await db.selectFrom("people").select("town").groupBy("town").having((eb) => eb.fn.countAll(), ">", 100).orderBy("town").execute()).length;
  seen.kTown = await db.selectFrom("towns").selectAll().where("town", "=", "Oslo").executeTakeFirst().then((row) => [row.n, row.area, row.capital]);
  seen.kWith = (await db.with("g", (of) => of.selectFrom("people").select(["town", (eb) => eb.fn.countAll().as("n")]).groupBy("town")).selectFrom("g").innerJoin("towns", "towns.town", "g.town").select(["g.town", "towns.n"]).orderBy("g.town").execute()).map((row) => row.n);
  seen.kRaw = (await sql`SELECT n FROM towns WHERE town = ${"Rome"}`.execute(db)).rows[0].n;
  seen.kBlock = (await db.transaction().execute((block) => block.selectFrom("towns").select("n").execute())).length;
  seen.kRows = await db.selectFrom("people").selectAll().execute().catch(failed);
  seen.kMade = await db.schema.createTable("mine").addColumn("x", "integer").execute().then(() => "made", failed);
  seen.kWritten = await db.insertInto("towns").values({ town: "Ulm" }).execute().then(() => "written", failed);
  await db.destroy();
}

ofSequelize().then(ofKysely).then(() => console.log(JSON.stringify(seen))).catch((error) => {
  console.error(error);
  process.exit(1);
});
