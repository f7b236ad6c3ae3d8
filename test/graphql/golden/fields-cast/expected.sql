select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"total":' || coalesce(to_json("f1"."total")::text, 'null') || ',"exact":' || coalesce(to_json("f1"."total"::text)::text, 'null') || ',"placed":' || to_json("f1"."placed")::text || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."orders" "f0"
  order by "f0"."order_id"
  limit 2) "f1") a(j);
