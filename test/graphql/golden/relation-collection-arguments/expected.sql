select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"orders_collection":' || (select '[' || coalesce(string_agg('{"total":' || coalesce(to_json("f3"."total")::text, 'null') || '}', ','), '') || ']'
  from (select "f2".*
  from tenant."orders" "f2"
  where "f2"."customer_id" = "f1"."customer_id" and (("f2"."total" > $1::numeric))
  order by "f2"."placed" desc, "f2"."order_id"
  limit 1) "f3") || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."customer" "f0"
  order by "f0"."customer_id"
  limit 100) "f1") a(j);
