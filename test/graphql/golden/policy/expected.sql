select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"order_id":' || '"' || coalesce("f1"."order_id", null::int4)::text || '"' || ',"customer":' || coalesce((select '{"name":' || to_json("f2"."name")::text || '}'
  from tenant."customer" "f2"
  where "f2"."customer_id" = "f1"."customer_id" and ((("f2"."country" = $1::text)))), 'null') || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."orders" "f0"
  order by "f0"."order_id"
  limit 100) "f1") a(j);
