select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"order_id":' || '"' || coalesce("f4"."order_id", null::int4)::text || '"' || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."orders" "f0"
  where ((exists (select
  from tenant."customer" "f1"
  where "f1"."customer_id" = "f0"."customer_id" and ("f1"."country" = $1::text)) and (not exists (select
  from tenant."customer" "f2", tenant."customer" "f3"
  where "f2"."customer_id" = "f0"."customer_id" and "f3"."customer_id" = "f2"."referrer_id" and ("f3"."name" is not null)))))
  order by "f0"."order_id"
  limit 100) "f4") a(j);
