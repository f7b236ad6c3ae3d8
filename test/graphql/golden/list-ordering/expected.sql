select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"name":' || to_json("f1"."name")::text || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."customer" "f0"
  order by "f0"."email" desc nulls last, "f0"."name", "f0"."customer_id"
  limit 100) "f1") a(j);

select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"order_id":' || '"' || coalesce("f4"."order_id", null::int4)::text || '"' || '}', ','), '') || ']'
  from (select "f2".*
  from tenant."orders" "f2"
  order by (select "f3"."country"
  from tenant."customer" "f3"
  where "f3"."customer_id" = "f2"."customer_id") desc, "f2"."total", "f2"."order_id"
  limit 100) "f4") a(j);
