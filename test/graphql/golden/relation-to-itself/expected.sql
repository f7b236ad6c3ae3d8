select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"customer_collection":' || (select '[' || coalesce(string_agg('{"name":' || to_json("f3"."name")::text || ',"customer":' || coalesce((select '{"name":' || to_json("f4"."name")::text || '}'
  from tenant."customer" "f4"
  where "f4"."customer_id" = "f3"."referrer_id"), 'null') || '}', ','), '') || ']'
  from (select "f2".*
  from tenant."customer" "f2"
  where "f2"."referrer_id" = "f1"."customer_id"
  order by "f2"."customer_id"
  limit 100) "f3") || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."customer" "f0"
  where (("f0"."customer_id" = $1::int4))
  order by "f0"."customer_id"
  limit 100) "f1") a(j);
