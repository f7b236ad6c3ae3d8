select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"sum":' || coalesce(coalesce("f3"."a", null::int8)::text, 'null') || '}', ','), '') || ']'
  from (select "f0".*
  from (select sum("f1"."quantity") as "a"
  from (select "f2".*
  from tenant."order_item" "f2"
  where (("f2"."quantity" > $1::int4))
  order by "f2"."product", "f2"."order_id", "f2"."line"
  limit 2 offset 1) "f1" offset 0) "f0"
  limit 100) "f3") a(j);
