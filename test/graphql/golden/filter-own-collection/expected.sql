select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"order_id":' || '"' || coalesce("f3"."order_id", null::int4)::text || '"' || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."orders" "f0"
  where ((((select count("f1"."line")
  from tenant."order_item" "f1"
  where "f1"."order_id" = "f0"."order_id") > $1::int8) and ((select sum("f2"."quantity")
  from tenant."order_item" "f2"
  where "f2"."order_id" = "f0"."order_id") >= $2::int8)))
  order by "f0"."order_id"
  limit 100) "f3") a(j);
