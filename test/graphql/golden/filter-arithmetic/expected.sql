select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"order_id":' || '"' || coalesce("f1"."order_id", null::int4)::text || '"' || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."orders" "f0"
  where ((((("f0"."total"::numeric * $1::int4::numeric)::numeric - $2::int4::numeric) > $3::numeric) or (("f0"."order_id"::int8 % (array_remove(array[$4::int4::int8], 0))[1]) = $5::int8) or (("f0"."order_id"::float8 ^ $6::int4::float8) = $7::float8)))
  order by "f0"."order_id"
  limit 100) "f1") a(j);
