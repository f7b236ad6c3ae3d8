select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"customer_id":' || '"' || coalesce("f1"."customer_id", null::int4)::text || '"' || ',"name":' || to_json("f1"."name")::text || ',"orders_collection":' || (select '[' || coalesce(string_agg('{"customer":' || coalesce((select '{"name":' || to_json("f4"."name")::text || '}'
  from tenant."customer" "f4"
  where "f4"."customer_id" = "f3"."customer_id"), 'null') || ',"order_item_collection":' || (select '[' || coalesce(string_agg('{"product":' || to_json("f6"."product")::text || ',"quantity":' || coalesce("f6"."quantity", null::int4)::text || '}', ','), '') || ']'
  from (select "f5".*
  from tenant."order_item" "f5"
  where "f5"."order_id" = "f3"."order_id"
  order by "f5"."order_id", "f5"."line"
  limit 100) "f6") || '}', ','), '') || ']'
  from (select "f2".*
  from tenant."orders" "f2"
  where "f2"."customer_id" = "f1"."customer_id"
  order by "f2"."order_id"
  limit 1) "f3") || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."customer" "f0"
  order by "f0"."customer_id"
  limit 2) "f1") a(j);
