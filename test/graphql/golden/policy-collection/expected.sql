select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"name":' || to_json("f1"."name")::text || ',"orders_collection":' || (select '[' || coalesce(string_agg('{"order_id":' || '"' || coalesce("f3"."order_id", null::int4)::text || '"' || '}', ','), '') || ']'
  from (select "f2".*
  from tenant."orders" "f2"
  where "f2"."customer_id" = "f1"."customer_id" and ((("f2"."status" = $1::text)))
  order by "f2"."order_id"
  limit 100) "f3") || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."customer" "f0"
  where ((("f0"."country" = $2::text)))
  order by "f0"."customer_id"
  limit 100) "f1") a(j);
