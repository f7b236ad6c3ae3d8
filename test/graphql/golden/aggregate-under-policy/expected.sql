select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"sum":' || coalesce(to_json("f3"."a")::text, 'null') || ',"customer_name":' || coalesce(to_json("f3"."k0")::text, 'null') || '}', ','), '') || ']'
  from (select "f0".*
  from (select sum("f1"."total") as "a", "f2"."name" as "k0"
  from tenant."orders" "f1"
  left join tenant."customer" "f2" on "f2"."customer_id" = "f1"."customer_id" and (((("f2"."country" = $1::text))))
  where ((("f1"."status" = $2::text))) group by "f2"."name" offset 0) "f0"
  order by "f0"."k0"
  limit 100) "f3") a(j);
