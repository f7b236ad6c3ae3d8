select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"order_id":' || '"' || coalesce("f1"."order_id", null::int4)::text || '"' || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."orders" "f0"
  where (((("f0"."flags"::int8 & $1::int4::int8) = $2::int8) or (("f0"."flags"::int8 << $3::int4::int8::int4) = $4::int8) or ((~ "f0"."flags"::int8) = $5::int8)))
  order by "f0"."order_id"
  limit 100) "f1") a(j);
