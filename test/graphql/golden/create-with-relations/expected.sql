with "written" as (insert into tenant."orders" as t("customer_id", "total")
  select $1::int4 as "customer_id", $2::"numeric" as "total"
  returning t.*), recorded as (insert into rowpost_tenant.event (roleid, operation, target, key, old, new)
  select $3::int4, 'insert', 'orders', json_build_object('order_id', "written"."order_id"), null::json, row_to_json("written".*)
  from "written"
  where (not rowpost_tenant.is_captured('tenant."orders"'::regclass, 'insert') or (select set_config('rowpost.roleid', $4::int4::text, true)) is null))
  select set_config('rowpost.written_0', (json_build_array(json_build_array("written"."order_id"::text)))::text, true)
  from "written";

select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select coalesce((select string_agg(case when "f1"."order_id" is distinct from null then '{"order_id":' || '"' || coalesce("f1"."order_id", null::int4)::text || '"' || ',"customer":' || coalesce((select '{"name":' || to_json("f2"."name")::text || '}'
  from tenant."customer" "f2"
  where "f2"."customer_id" = "f1"."customer_id"), 'null') || '}' else 'null' end, ','
  order by k.n)
  from json_array_elements((array_remove(array[current_setting('rowpost.written_0', true)], ''))[1]::json)
  with ordinality k(key, n)
  left join tenant."orders" "f1" on "f1"."order_id" = (k.key ->> 0)::int4), 'null')) a(j);
