select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"min":' || coalesce(to_json("f3"."a")::text, 'null') || ',"order_id":' || coalesce(coalesce("f3"."k0", null::int4)::text, 'null') || '}', ','), '') || ']'
  from (select "f2".*
  from (select distinct on ("f0"."k0") "f0".*
  from (select min("f1"."product") as "a", "f1"."order_id" as "k0"
  from tenant."order_item" "f1" group by "f1"."order_id" offset 0) "f0"
  order by "f0"."k0") "f2"
  order by "f2"."k0"
  limit 2) "f3") a(j);
