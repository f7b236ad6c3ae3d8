select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"order_id":' || '"' || coalesce("f3"."order_id", null::int4)::text || '"' || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."orders" "f0"
  where ((("f0"."status" = $1::text))) and ((("f0"."order_id" < $2::int4) and case when (((("f0"."status" = $3::text)))) then (("f0"."total" > $4::numeric) and exists (select
  from tenant."customer" "f1"
  where "f1"."customer_id" = "f0"."customer_id" and (((("f1"."country" = $5::text)))) and case when (((("f1"."country" = $6::text)))) then ("f1"."name" ~~ $7::text) else false end)) else false end))
  order by (select "f2"."name"
  from tenant."customer" "f2"
  where "f2"."customer_id" = "f0"."customer_id" and (((("f2"."country" = $8::text))))), "f0"."order_id"
  limit 100) "f3") a(j);
