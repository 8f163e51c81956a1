# DBI with DBD::Pg: prints what a program of its user sees, one JSON object.
use strict;
use warnings;
use DBI qw(:sql_types);
use DBD::Pg qw(:pg_types);
use JSON::PP;

my @notices;
local $SIG{__WARN__} = sub { push @notices, $_[0] };
my %seen;

sub connected {
    return DBI->connect("dbi:Pg:", undef, undef, {RaiseError => 1, PrintError => 0, PrintWarn => 1, AutoCommit => 1});
}

my $db = connected();
$seen{version} = $db->{pg_server_version} >= 150000 ? 1 : 0;
$seen{ping} = $db->ping;
$seen{tables} = [sort map { $_->[2] } @{$db->table_info(undef, "public", "%", "TABLE")->fetchall_arrayref}];
$seen{views} = [sort map { $_->[2] } @{$db->table_info(undef, "public", "%", "VIEW")->fetchall_arrayref}];
$seen{columns} = [map { "$_->[3] $_->[5]" } @{$db->column_info(undef, "public", "towns", "%")->fetchall_arrayref}];
$seen{key} = [$db->primary_key(undef, "public", "towns")];
$seen{types} = scalar(@{$db->type_info_all}) > 10 ? 1 : 0;
$seen{groups} = $db->selectcol_arrayref("SELECT town, count(*) FROM people WHERE age > ? GROUP BY town", undef, 40);
$seen{notice} = (grep { /left in budget/ } @notices) ? 1 : 0;
my $statement = $db->prepare("SELECT n, size, founded, capital FROM towns WHERE town = ?");
$statement->bind_param(1, "Oslo", {pg_type => PG_TEXT});
$statement->execute;
$seen{names} = $statement->{NAME};
$seen{row} = $statement->fetchrow_arrayref;
$seen{list} = $db->selectcol_arrayref("SELECT n FROM towns WHERE town = ANY (?) ORDER BY n", undef, ["Bern", "Rome"]);
eval { $db->do("SELECT age FROM people") };
$seen{refused} = [$db->state, $db->errstr =~ /HINT/ ? 1 : 0];
$db->begin_work;
$db->do("DECLARE c CURSOR FOR SELECT n FROM towns ORDER BY n");
$seen{fetched} = $db->selectcol_arrayref("FETCH 2 FROM c");
$db->commit;
$db->do("COPY (SELECT town FROM towns ORDER BY town) TO STDOUT");
my @copied;
my $line;
while ($db->pg_getcopydata(\$line) >= 0) { chomp $line; push @copied, $line }
$seen{copied} = \@copied;
$db->disconnect;
$seen{again} = connected()->selectrow_array("SELECT count(*) FROM towns");
print JSON::PP->new->canonical->encode(\%seen), "\n";
