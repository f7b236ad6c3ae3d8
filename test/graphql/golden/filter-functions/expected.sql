select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"order_id":' || '"' || coalesce("f2"."order_id", null::int4)::text || '"' || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."orders" "f0"
  where (((date_trunc($1::text, "f0"."placed") = $2::timestamptz) and exists (select
  from tenant."customer" "f1"
  where "f1"."customer_id" = "f0"."customer_id" and (lower("f1"."name") = $3::text)) and (coalesce("f0"."total", $4::numeric) > $5::numeric)))
  order by "f0"."order_id"
  limit 100) "f2") a(j);
