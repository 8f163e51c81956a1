import java.io.StringWriter;
import java.sql.*;
import java.util.*;
import org.postgresql.PGConnection;

/** What a tool over pgjdbc does. Writes a line for each thing it saw: its name, a tab, what it was. */
public class Jdbc {
    static void say(String what, Object seen) {
        System.out.println(what + "\t" + seen);
    }

    static String cells(ResultSet rows, String... columns) throws SQLException {
        List<String> found = new ArrayList<>();
        while (rows.next()) {
            List<String> cells = new ArrayList<>();
            for (String column : columns) cells.add(rows.getString(column));
            found.add(String.join(",", cells));
        }
        return String.join(";", found);
    }

    static int count(ResultSet rows) throws SQLException {
        int found = 0;
        while (rows.next()) found++;
        return found;
    }

    static void metadata(DatabaseMetaData about) throws SQLException {
        String[] kinds = {"TABLE", "VIEW", "MATERIALIZED VIEW"};
        say("product", about.getDatabaseProductName() + " " + about.getDatabaseMajorVersion());
        say("catalogs", cells(about.getCatalogs(), "TABLE_CAT"));
        say("schemas", cells(about.getSchemas(), "TABLE_SCHEM"));
        say("tables", cells(about.getTables(null, "public", "%", kinds), "TABLE_NAME", "TABLE_TYPE"));
        say("remarks", cells(about.getTables(null, "public", "people", kinds), "REMARKS"));
        say("columns", cells(about.getColumns(null, "public", "people", "%"), "COLUMN_NAME", "TYPE_NAME", "DATA_TYPE", "COLUMN_SIZE", "IS_NULLABLE"));
        say("keys", cells(about.getPrimaryKeys(null, "public", "people"), "COLUMN_NAME", "PK_NAME"));
        say("imported", cells(about.getImportedKeys(null, "public", "visits"), "PKTABLE_NAME", "PKCOLUMN_NAME", "FKCOLUMN_NAME", "FK_NAME", "PK_NAME"));
        say("exported", cells(about.getExportedKeys(null, "public", "people"), "FKTABLE_NAME", "FKCOLUMN_NAME", "KEY_SEQ"));
        say("indices", cells(about.getIndexInfo(null, "public", "people", false, true), "INDEX_NAME", "NON_UNIQUE", "COLUMN_NAME", "ORDINAL_POSITION"));
        say("best row", cells(about.getBestRowIdentifier(null, "public", "people", DatabaseMetaData.bestRowSession, true), "COLUMN_NAME"));
        say("types", count(about.getTypeInfo()) > 50);
        say("table types", cells(about.getTableTypes(), "TABLE_TYPE").contains("MATERIALIZED VIEW"));
        say("procedures", count(about.getProcedures(null, null, "%")));
        say("functions", count(about.getFunctions(null, null, "%")));
        say("user types", count(about.getUDTs(null, null, "%", null)));
        say("privileges", cells(about.getTablePrivileges(null, "public", "people"), "PRIVILEGE"));
        say("column privileges", count(about.getColumnPrivileges(null, "public", "people", "%")));
        say("client info", count(about.getClientInfoProperties()));
        say("longest name", about.getMaxColumnNameLength());
    }

    static void queries(Connection connection) throws SQLException {
        String sql = "SELECT town, count(*) AS n, avg(age) AS a, sum(income) AS s FROM people WHERE age > ? GROUP BY town ORDER BY town";
        try (PreparedStatement asked = connection.prepareStatement(sql)) {
            say("parameter", asked.getParameterMetaData().getParameterTypeName(1));
            ResultSetMetaData shape = asked.getMetaData();
            List<String> types = new ArrayList<>();
            for (int at = 1; at <= shape.getColumnCount(); at++) types.add(shape.getColumnName(at) + " " + shape.getColumnTypeName(at));
            say("shape", String.join(",", types));
            Set<String> seen = new HashSet<>();
            for (int time = 0; time < 8; time++) { // from the sixth on under a name, and in binary
                asked.setInt(1, 21);
                ResultSet rows = asked.executeQuery();
                StringBuilder text = new StringBuilder();
                while (rows.next()) text.append(rows.getString(1)).append(rows.getLong(2)).append(rows.getBigDecimal(3).doubleValue()).append(rows.getDouble(4));
                seen.add(text.toString());
            }
            say("same each time", seen.size());
            SQLWarning told = asked.getWarnings();
            say("warning", told == null ? null : told.getMessage());
        }
        try (PreparedStatement asked = connection.prepareStatement(
                "SELECT count(*) FROM people WHERE born > ? AND seen < ? AND town = ? AND income < ? AND member = ? AND paid > ? AND big < ?")) {
            asked.setDate(1, java.sql.Date.valueOf("1951-01-01"));
            asked.setTimestamp(2, Timestamp.valueOf("2021-01-01 00:00:00"));
            asked.setString(3, "Oslo");
            asked.setDouble(4, 500.5);
            asked.setBoolean(5, true);
            asked.setBigDecimal(6, new java.math.BigDecimal("1.25"));
            asked.setLong(7, 1L << 40);
            say("values", count(asked.executeQuery()));
        }
        try (PreparedStatement asked = connection.prepareStatement("SELECT n FROM towns WHERE town = ANY (?) ORDER BY n")) {
            asked.setArray(1, connection.createArrayOf("text", new String[] {"Bern", "Rome"}));
            say("array", cells(asked.executeQuery(), "n"));
        }
    }

    static void privacy(Connection connection) throws SQLException {
        try (PreparedStatement asked = connection.prepareStatement("EXPLAIN (PRIVACY) SELECT count(*) FROM people WHERE age > ?")) {
            asked.setInt(1, 61);
            say("price", cells(asked.executeQuery(), "QUERY PLAN").contains("Price: epsilon 1"));
        }
        try (Statement asked = connection.createStatement()) {
            ResultSet rows = asked.executeQuery("/*+ dp(epsilon=0.25, intervals=columns) */ SELECT count(*) AS n FROM people WHERE age > 62");
            ResultSetMetaData shape = rows.getMetaData();
            say("intervals", shape.getColumnName(2) + "," + shape.getColumnName(3));
            say("hinted", asked.getWarnings().getMessage().startsWith("cost 0.25 epsilon"));
            asked.execute("SET dp.intervals = 'columns'");
            say("set intervals", asked.executeQuery("SELECT avg(age) FROM people").getMetaData().getColumnCount());
            asked.execute("RESET dp.intervals");
        }
        org.postgresql.PGConnection own = connection.unwrap(org.postgresql.PGConnection.class);
        say("reported", own.getParameterStatus("dp.epsilon") != null && own.getParameterStatus("dp.budget_remaining") == null);
    }

    static void pages(Connection connection) throws Exception {
        connection.setAutoCommit(false);
        try (PreparedStatement asked = connection.prepareStatement("SELECT town, size, founded, seen, area, capital FROM towns ORDER BY n")) {
            asked.setFetchSize(2);
            for (int time = 0; time < 7; time++) count(asked.executeQuery());
            ResultSet rows = asked.executeQuery();
            say("pages", cells(rows, "town", "size", "founded", "seen", "area", "capital"));
        }
        connection.commit();
        connection.setAutoCommit(true);
        try (Statement asked = connection.createStatement()) {
            asked.setMaxRows(1);
            say("most rows", count(asked.executeQuery("SELECT * FROM towns")));
        }
        try (Statement asked = connection.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY)) {
            ResultSet rows = asked.executeQuery("SELECT * FROM towns");
            rows.last();
            say("last row", rows.getRow());
        }
        StringWriter copied = new StringWriter();
        connection.unwrap(PGConnection.class).getCopyAPI().copyOut("COPY (SELECT town, n FROM towns ORDER BY n) TO STDOUT (FORMAT csv)", copied);
        say("copied", copied.toString().strip().replace("\n", ";"));
    }

    static void trouble(Connection connection, String slow) throws Exception {
        try (Statement asked = connection.createStatement()) {
            asked.executeQuery("SELECT age FROM people");
        } catch (SQLException refused) {
            say("refused", refused.getSQLState() + " " + refused.getMessage().contains("Hint:"));
        }
        connection.setAutoCommit(false);
        Savepoint before = connection.setSavepoint("before");
        try (Statement asked = connection.createStatement()) {
            asked.executeQuery("SELECT nothing FROM towns");
        } catch (SQLException refused) {
            connection.rollback(before);
        }
        try (Statement asked = connection.createStatement()) {
            say("after", count(asked.executeQuery("SELECT 1")));
        }
        connection.commit();
        connection.setAutoCommit(true);
        try (Statement asked = connection.createStatement()) {
            asked.setQueryTimeout(1);
            asked.executeQuery(slow);
        } catch (SQLException cancelled) {
            say("cancelled", cancelled.getSQLState());
        }
        connection.setReadOnly(true);
        connection.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        say("isolation", connection.getTransactionIsolation() == Connection.TRANSACTION_SERIALIZABLE);
        say("where", connection.getCatalog() + "." + connection.getSchema() + " " + connection.isValid(5));
    }

    public static void main(String[] words) throws Exception {
        String url = words[0], slow = words[1];
        try (Connection connection = DriverManager.getConnection(url, "ann", System.getenv("PGPASSWORD"))) {
            metadata(connection.getMetaData());
            queries(connection);
            privacy(connection);
            pages(connection);
            trouble(connection, slow);
        }
        try (Connection again = DriverManager.getConnection(url + "?preferQueryMode=simple", "ann", System.getenv("PGPASSWORD"));
                PreparedStatement asked = again.prepareStatement("SELECT town FROM towns WHERE n = ?")) {
            asked.setInt(1, 3);
            say("simple", cells(asked.executeQuery(), "town"));
        }
    }
}
