select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"order_id":' || '"' || coalesce("f2"."order_id", null::int4)::text || '"' || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."orders" "f0"
  where (("f0"."total" = (select max("f1"."total")
  from tenant."orders" "f1")))
  order by "f0"."order_id"
  limit 100) "f2") a(j);
