select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"order_id":' || coalesce(coalesce("f1"."order_id", null::int4)::text, 'null') || ',"status":' || coalesce(to_json("f1"."status")::text, 'null') || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."open_orders" "f0"
  where (("f0"."total" > $1::numeric))
  limit 100) "f1") a(j);
