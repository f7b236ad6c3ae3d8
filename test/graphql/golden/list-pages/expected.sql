select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"order_id":' || '"' || coalesce("f1"."order_id", null::int4)::text || '"' || ',"line":' || '"' || coalesce("f1"."line", null::int4)::text || '"' || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."order_item" "f0"
  order by "f0"."order_id", "f0"."line"
  limit 1 offset $1::int8) "f1") a(j);
