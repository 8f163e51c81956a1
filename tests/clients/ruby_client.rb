# The gem pg: prints what a program of its user sees, one JSON object.
require "json"
require "pg"

seen = {}
notices = []
db = PG.connect
db.set_notice_processor { |text| notices << text }
seen["groups"] = db.exec_params("SELECT town, count(*) FROM people WHERE age > $1 GROUP BY town", [40]).column_values(0)
seen["notice"] = notices.any? { |text| text.include?("left in budget") }
db.type_map_for_results = PG::BasicTypeMapForResults.new(db)
seen["typed"] = db.exec("SELECT 1, true, 1.5::float8, ARRAY[1, 2], '2020-01-01'::date").values.first.map { |v| v.class.to_s }
seen["row"] = db.exec_params("SELECT n, size, founded, capital FROM towns WHERE town = $1", ["Oslo"]).values.first.map(&:to_s)
binary = db.exec_params("SELECT n, capital FROM towns WHERE town = $1", ["Oslo"], 1)
seen["binary"] = binary.values.first
db.prepare("by_town", "SELECT n FROM towns WHERE town = ANY ($1) ORDER BY n")
list = PG::TextEncoder::Array.new.encode(["Bern", "Rome"])
seen["list"] = db.exec_prepared("by_town", [list]).column_values(0)
seen["described"] = db.describe_prepared("by_town").fields
begin
  db.exec("SELECT age FROM people")
rescue PG::InsufficientPrivilege => error
  result = error.result
  seen["refused"] = [result.error_field(PG::PG_DIAG_SQLSTATE), !result.error_field(PG::PG_DIAG_MESSAGE_HINT).nil?]
end
db.send_query("SELECT n FROM towns ORDER BY n")
db.set_single_row_mode
rows = []
while (found = db.get_result)
  found.each_row { |row| rows << row[0] }
end
seen["single"] = rows
copied = []
db.copy_data("COPY (SELECT town FROM towns ORDER BY town) TO STDOUT") do
  while (line = db.get_copy_data)
    copied << line.strip
  end
end
seen["copied"] = copied
seen["transaction"] = db.transaction { |inner| inner.exec("SELECT count(*) FROM towns").getvalue(0, 0) }
db.reset
seen["again"] = db.exec("SELECT 1").getvalue(0, 0)
db.finish
puts JSON.generate(seen)
