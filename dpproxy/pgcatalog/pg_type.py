"""pg_type: the built-in types that clients look for, their arrays, and the row types of relations."""

from collections.abc import Iterator
from dataclasses import dataclass

from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.table import Row, table
from dpproxy.pgcatalog.view import CatalogueView

_BASE = """
16 bool 1 1 b B 1 0 1000 boolin boolout boolrecv boolsend c p 0 boolean
17 bytea -1 0 b U 0 0 1001 byteain byteaout bytearecv byteasend i x 0 bytea
18 char 1 1 b Z 0 0 1002 charin charout charrecv charsend c p 0 "char"
19 name 64 0 b S 0 18 1003 namein nameout namerecv namesend c p 950 name
20 int8 8 1 b N 0 0 1016 int8in int8out int8recv int8send d p 0 bigint
21 int2 2 1 b N 0 0 1005 int2in int2out int2recv int2send s p 0 smallint
22 int2vector -1 0 b A 0 21 1006 int2vectorin int2vectorout int2vectorrecv int2vectorsend i p 0 int2vector
23 int4 4 1 b N 0 0 1007 int4in int4out int4recv int4send i p 0 integer
24 regproc 4 1 b N 0 0 1008 regprocin regprocout regprocrecv regprocsend i p 0 regproc
25 text -1 0 b S 1 0 1009 textin textout textrecv textsend i x 100 text
26 oid 4 1 b N 1 0 1028 oidin oidout oidrecv oidsend i p 0 oid
28 xid 4 1 b U 0 0 1011 xidin xidout xidrecv xidsend i p 0 xid
30 oidvector -1 0 b A 0 26 1013 oidvectorin oidvectorout oidvectorrecv oidvectorsend i p 0 oidvector
114 json -1 0 b U 0 0 199 json_in json_out json_recv json_send i x 0 json
142 xml -1 0 b U 0 0 143 xml_in xml_out xml_recv xml_send i x 0 xml
194 pg_node_tree -1 0 b Z 0 0 0 pg_node_tree_in pg_node_tree_out pg_node_tree_recv pg_node_tree_send i x 100 pg_node_tree
600 point 16 0 b G 0 701 1017 point_in point_out point_recv point_send d p 0 point
650 cidr -1 0 b I 0 0 651 cidr_in cidr_out cidr_recv cidr_send i m 0 cidr
700 float4 4 1 b N 0 0 1021 float4in float4out float4recv float4send i p 0 real
701 float8 8 1 b N 1 0 1022 float8in float8out float8recv float8send d p 0 double precision
705 unknown -2 0 p X 0 0 0 unknownin unknownout unknownrecv unknownsend c p 0 unknown
869 inet -1 0 b I 1 0 1041 inet_in inet_out inet_recv inet_send i m 0 inet
1033 aclitem 12 0 b U 0 0 1034 aclitemin aclitemout - - i p 0 aclitem
1042 bpchar -1 0 b S 0 0 1014 bpcharin bpcharout bpcharrecv bpcharsend i x 100 character
1043 varchar -1 0 b S 0 0 1015 varcharin varcharout varcharrecv varcharsend i x 100 character varying
1082 date 4 1 b D 0 0 1182 date_in date_out date_recv date_send i p 0 date
1083 time 8 1 b D 0 0 1183 time_in time_out time_recv time_send d p 0 time without time zone
1114 timestamp 8 1 b D 0 0 1115 timestamp_in timestamp_out timestamp_recv timestamp_send d p 0 timestamp without time zone
1184 timestamptz 8 1 b D 1 0 1185 timestamptz_in timestamptz_out timestamptz_recv timestamptz_send d p 0 timestamp with time zone
1186 interval 16 0 b T 1 0 1187 interval_in interval_out interval_recv interval_send d p 0 interval
1266 timetz 12 0 b D 0 0 1270 timetz_in timetz_out timetz_recv timetz_send d p 0 time with time zone
1700 numeric -1 0 b N 0 0 1231 numeric_in numeric_out numeric_recv numeric_send i m 0 numeric
2202 regprocedure 4 1 b N 0 0 2207 regprocedurein regprocedureout regprocedurerecv regproceduresend i p 0 regprocedure
2205 regclass 4 1 b N 0 0 2210 regclassin regclassout regclassrecv regclasssend i p 0 regclass
2206 regtype 4 1 b N 0 0 2211 regtypein regtypeout regtyperecv regtypesend i p 0 regtype
2249 record -1 0 p P 0 0 2287 record_in record_out record_recv record_send d x 0 record
2275 cstring -2 0 p P 0 0 1263 cstring_in cstring_out cstring_recv cstring_send c p 0 cstring
2276 any 4 1 p P 0 0 0 any_in any_out - - i p 0 "any"
2277 anyarray -1 0 p P 0 0 0 anyarray_in anyarray_out anyarray_recv anyarray_send d x 0 anyarray
2278 void 4 1 p P 0 0 0 void_in void_out void_recv void_send i p 0 void
2279 trigger 4 1 p P 0 0 0 trigger_in trigger_out - - i p 0 trigger
2280 language_handler 4 1 p P 0 0 0 language_handler_in language_handler_out - - i p 0 language_handler
2281 internal 8 1 p P 0 0 0 internal_in internal_out - - d p 0 internal
2283 anyelement 4 1 p P 0 0 0 anyelement_in anyelement_out - - i p 0 anyelement
2776 anynonarray 4 1 p P 0 0 0 anynonarray_in anynonarray_out - - i p 0 anynonarray
2950 uuid 16 0 b U 0 0 2951 uuid_in uuid_out uuid_recv uuid_send c p 0 uuid
3802 jsonb -1 0 b U 0 0 3807 jsonb_in jsonb_out jsonb_recv jsonb_send i x 0 jsonb
3838 event_trigger 4 1 p P 0 0 0 event_trigger_in event_trigger_out - - i p 0 event_trigger
4089 regnamespace 4 1 b N 0 0 4090 regnamespacein regnamespaceout regnamespacerecv regnamespacesend i p 0 regnamespace
4096 regrole 4 1 b N 0 0 4097 regrolein regroleout regrolerecv regrolesend i p 0 regrole
4191 regcollation 4 1 b N 0 0 4192 regcollationin regcollationout regcollationrecv regcollationsend i p 0 regcollation
5077 anycompatible 4 1 p P 0 0 0 anycompatible_in anycompatible_out - - i p 0 anycompatible
5078 anycompatiblearray -1 0 p P 0 0 0 anycompatiblearray_in anycompatiblearray_out anycompatiblearray_recv anycompatiblearray_send d x 0 anycompatiblearray
"""  # noqa: E501 - one type, one line
"""Facts of PostgreSQL 15: oid typname typlen typbyval typtype typcategory typispreferred typelem typarray
typinput typoutput typreceive typsend typalign typstorage typcollation, and the name that format_type gives."""


@dataclass(frozen=True, slots=True)
class BaseType:
    """One row of the built-in types; ``display`` is what format_type answers."""

    oid: int
    name: str
    size: int
    by_value: bool
    kind: str
    category: str
    preferred: bool
    element: int
    array: int
    functions: tuple[str, str, str, str]
    align: str
    storage: str
    collation: int
    display: str


def _read(line: str) -> BaseType:
    oid, name, size, by_value, kind, category, preferred, element, array, *rest = line.split(maxsplit=16)
    return BaseType(
        int(oid), name, int(size), by_value == "1", kind, category, preferred == "1", int(element),
        int(array), (rest[0], rest[1], rest[2], rest[3]), rest[4], rest[5], int(rest[6]), rest[7],
    )  # fmt: skip


def _array(of: BaseType) -> BaseType:
    kind, category = ("p", "P") if of.name == "record" else ("b", "A")
    return BaseType(
        of.array, f"_{of.name}", -1, False, kind, category, False, of.oid, 0,  # noqa: FBT003
        ("array_in", "array_out", "array_recv", "array_send"),
        "d" if of.align == "d" else "i", "x", of.collation, f"{of.display}[]",
    )  # fmt: skip


_SCALARS = tuple(_read(line) for line in _BASE.strip().splitlines())
BUILT_IN: tuple[BaseType, ...] = _SCALARS + tuple(_array(of) for of in _SCALARS if of.array)
BY_OID = {of.oid: of for of in BUILT_IN}


def _row(of: BaseType) -> Row:
    receive = dict(zip(("typinput", "typoutput", "typreceive", "typsend"), of.functions, strict=True))
    return {
        "oid": of.oid,
        "typname": of.name,
        "typnamespace": oids.CATALOGUE,
        "typowner": oids.OWNER,
        "typlen": of.size,
        "typbyval": of.by_value,
        "typtype": of.kind,
        "typcategory": of.category,
        "typispreferred": of.preferred,
        "typisdefined": True,
        "typdelim": ",",
        "typrelid": 0,
        "typsubscript": "array_subscript_handler" if of.element else "-",
        "typelem": of.element,
        "typarray": of.array,
        **receive,
        "typmodin": "-",
        "typmodout": "-",
        "typanalyze": "-",
        "typalign": of.align,
        "typstorage": of.storage,
        "typnotnull": False,
        "typbasetype": 0,
        "typtypmod": -1,
        "typndims": 0,
        "typcollation": of.collation,
    }


_RECORD = ("record_in", "record_out", "record_recv", "record_send")


def _row_types(schema: str, name: str) -> tuple[BaseType, BaseType]:
    of = BaseType(
        oids.row_type_oid(schema, name), name, -1, False, "c", "C", False, 0,  # noqa: FBT003
        oids.row_array_oid(schema, name), _RECORD, "d", "x", 0, name,
    )  # fmt: skip
    return of, _array(of)


def _rows(view: CatalogueView) -> Iterator[Row]:
    for of in BUILT_IN:
        yield _row(of)
    for schema, relation in view.named():
        row_type, array = _row_types(schema, relation.name)
        namespace = {"typnamespace": oids.SCHEMAS[schema]}
        oid = oids.relation_oid(schema, relation.name)
        yield {**_row(row_type), **namespace, "typrelid": oid}
        yield {**_row(array), **namespace}


TABLE = table(
    "pg_catalog",
    "pg_type",
    1247,
    "oid:oid typname typnamespace:oid typowner:oid typlen:int2 typbyval:bool typtype typcategory "
    "typispreferred:bool typisdefined:bool typdelim typrelid:oid typsubscript typelem:oid "
    "typarray:oid typinput typoutput typreceive typsend typmodin typmodout typanalyze typalign "
    "typstorage typnotnull:bool typbasetype:oid typtypmod:int4 typndims:int4 typcollation:oid "
    "typdefaultbin typdefault typacl:text[]",
    _rows,
)
