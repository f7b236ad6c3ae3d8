select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"order_id":' || '"' || coalesce("f4"."order_id", null::int4)::text || '"' || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."orders" "f0"
  where ((exists (select
  from tenant."order_item" "f1"
  where "f1"."order_id" = "f0"."order_id" and ("f1"."product" = $1::text)) and exists (select
  from tenant."order_label" "f2", tenant."label" "f3"
  where "f2"."order_id" = "f0"."order_id" and "f3"."label_id" = "f2"."label_id" and ("f3"."title" = $2::text))))
  order by "f0"."order_id"
  limit 100) "f4") a(j);
