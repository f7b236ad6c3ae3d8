select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"name":' || to_json("f1"."name")::text || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."customer" "f0"
  where ((("f0"."customer_id" = $1::int4)))
  order by "f0"."customer_id"
  limit 100) "f1") a(j);
