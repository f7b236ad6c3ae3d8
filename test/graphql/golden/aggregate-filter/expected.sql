select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"sum":' || coalesce(to_json("f2"."a")::text, 'null') || '}', ','), '') || ']'
  from (select "f0".*
  from (select sum("f1"."total") as "a"
  from tenant."orders" "f1"
  where (("f1"."status" = $1::text)) offset 0) "f0"
  limit 100) "f2") a(j);

select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"min":' || coalesce(to_json("f5"."a")::text, 'null') || '}', ','), '') || ']'
  from (select "f3".*
  from (select min("f4"."total") as "a"
  from tenant."orders" "f4" offset 0) "f3"
  limit 100) "f5") a(j);

select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"max":' || coalesce(to_json("f8"."a")::text, 'null') || '}', ','), '') || ']'
  from (select "f6".*
  from (select max("f7"."placed") as "a"
  from tenant."orders" "f7" offset 0) "f6"
  limit 100) "f8") a(j);

select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select '[' || coalesce(string_agg('{"avg":' || coalesce(to_json("f11"."a")::text, 'null') || '}', ','), '') || ']'
  from (select "f9".*
  from (select avg("f10"."quantity") as "a"
  from tenant."order_item" "f10" offset 0) "f9"
  limit 100) "f11") a(j);
