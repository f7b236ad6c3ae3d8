select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"count":' || coalesce(coalesce("f2"."a", null::int8)::text, 'null') || '}', ','), '') || ']'
  from (select "f0".*
  from (select count("f1"."order_id") as "a"
  from tenant."orders" "f1" offset 0) "f0"
  limit 100) "f2") a(j);
