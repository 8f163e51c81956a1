import java.sql.*;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.UUID;

/** Values of every type as pgjdbc reads and sends them; after some runs it reads in binary. */
public class Types {
    static void read(Connection connection) throws SQLException {
        try (PreparedStatement asked = connection.prepareStatement("SELECT * FROM things WHERE u = ?")) {
            asked.setObject(1, UUID.fromString("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"));
            for (int run = 0; run < 8; run++) {
                ResultSet row = asked.executeQuery();
                row.next();
                StringBuilder seen = new StringBuilder();
                seen.append("uuid ").append(row.getObject("u", UUID.class)).append("\n");
                seen.append("interval ").append(row.getObject("i").toString().replaceAll("0+ secs", " secs")).append("\n");
                seen.append("ints ").append(Arrays.toString((Object[]) row.getArray("li").getArray())).append("\n");
                seen.append("texts ").append(Arrays.toString((Object[]) row.getArray("lt").getArray())).append("\n");
                byte[] bytes = row.getBytes("b");
                seen.append("bytes ").append(bytes[0]).append(",").append(bytes[1]).append(",").append(bytes[2]);
                seen.append(",").append(bytes[3]).append("\n");
                OffsetDateTime moment = row.getObject("tz", OffsetDateTime.class);
                seen.append("moment ").append(moment.toInstant()).append("\n");
                seen.append("json ").append(row.getString("j"));
                if (run == 7) System.out.println(seen);
            }
        }
    }

    static void send(Connection connection) throws SQLException {
        String sql = "SELECT count(*) FROM things WHERE n = ANY (?)";
        try (PreparedStatement asked = connection.prepareStatement(sql)) {
            for (int run = 0; run < 8; run++) {
                asked.setArray(1, connection.createArrayOf("int4", new Object[] {1, 3, 9}));
                ResultSet row = asked.executeQuery();
                row.next();
                if (run == 7) System.out.println("list " + row.getInt(1));
            }
        }
        try (PreparedStatement asked = connection.prepareStatement("SELECT ?::int[], ?::timestamptz, ?::uuid")) {
            asked.setArray(1, connection.createArrayOf("int4", new Object[] {1, 2}));
            asked.setObject(2, OffsetDateTime.of(2024, 1, 2, 3, 4, 5, 0, ZoneOffset.ofHours(2)));
            asked.setObject(3, new UUID(1, 2));
            ResultSet row = asked.executeQuery();
            row.next();
            System.out.println("array " + Arrays.toString((Object[]) row.getArray(1).getArray()));
            System.out.println("sent " + row.getObject(2, OffsetDateTime.class).toInstant() + " " + row.getObject(3));
        }
    }

    public static void main(String[] words) throws Exception {
        try (Connection connection = DriverManager.getConnection(words[0], words[1], words[2])) {
            read(connection);
            send(connection);
        }
    }
}
