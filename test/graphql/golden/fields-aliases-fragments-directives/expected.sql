select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"__typename":"customer","called":' || to_json("f1"."name")::text || '}', ','), '') || ']'
  from (select "f0".*
  from tenant."customer" "f0"
  order by "f0"."customer_id"
  limit 1) "f1") a(j);

select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"__typename":"label","title":' || to_json("f3"."title")::text || '}', ','), '') || ']'
  from (select "f2".*
  from tenant."label" "f2"
  order by "f2"."label_id"
  limit 100) "f3") a(j);
