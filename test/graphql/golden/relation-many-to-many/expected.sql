select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"label_collection":' || (select '[' || coalesce(string_agg('{"title":' || to_json("f4"."title")::text || ',"orders_collection":' || (select '[' || coalesce(string_agg('{"order_id":' || '"' || coalesce("f7"."order_id", null::int4)::text || '"' || '}', ','), '') || ']'
  from (select "f5".*
  from tenant."order_label" "f6"
  join tenant."orders" "f5" on "f5"."order_id" = "f6"."order_id"
  where "f6"."label_id" = "f4"."label_id"
  order by "f5"."order_id"
  limit 100) "f7") || '}', ','), '') || ']'
  from (select "f2".*
  from tenant."order_label" "f3"
  join tenant."label" "f2" on "f2"."label_id" = "f3"."label_id"
  where "f3"."order_id" = "f1"."order_id"
  order by "f2"."title" desc, "f2"."label_id"
  limit 1) "f4") || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."orders" "f0"
  order by "f0"."order_id"
  limit 1) "f1") a(j);
