select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"order_id":' || '"' || coalesce("f3"."order_id", null::int4)::text || '"' || ',"status":' || to_json("f3"."status")::text || ',"total":' || coalesce(to_json("f3"."total")::text, 'null') || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."orders" "f0"
  where ((("f0"."status" = $1::text) and exists (select
  from tenant."customer" "f1"
  where "f1"."customer_id" = "f0"."customer_id" and ("f1"."country" = any ($2::text[])))))
  order by (select "f2"."name"
  from tenant."customer" "f2"
  where "f2"."customer_id" = "f0"."customer_id") desc, "f0"."placed", "f0"."order_id"
  limit 2) "f3") a(j);
