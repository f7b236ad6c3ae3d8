select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"order_id":' || '"' || coalesce("f1"."order_id", null::int4)::text || '"' || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."orders" "f0"
  where ((("f0"."order_id" = any ($1::int8[])) and ("f0"."status" <> all ($2::text[]))))
  order by "f0"."order_id"
  limit 100) "f1") a(j);
