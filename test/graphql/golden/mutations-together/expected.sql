with "written" as (insert into tenant."label" as t("label_id", "title")
  select $1::text as "label_id", $2::text as "title"
  returning t.*), recorded as (insert into rowpost_tenant.event (roleid, operation, target, key, old, new)
  select $3::int4, 'insert', 'label', json_build_object('label_id', "written"."label_id"), null::json, row_to_json("written".*)
  from "written"
  where (not rowpost_tenant.is_captured('tenant."label"'::regclass, 'insert') or (select set_config('rowpost.roleid', $4::int4::text, true)) is null))
  select '{"label_id":' || to_json("written"."label_id")::text || '}'
  from "written";

with "written" as (insert into tenant."order_label" as t("order_id", "label_id")
  select $1::int4 as "order_id", $2::text as "label_id"
  returning t.*), recorded as (insert into rowpost_tenant.event (roleid, operation, target, key, old, new)
  select $3::int4, 'insert', 'order_label', json_build_object('order_id', "written"."order_id", 'label_id', "written"."label_id"), null::json, row_to_json("written".*)
  from "written"
  where (not rowpost_tenant.is_captured('tenant."order_label"'::regclass, 'insert') or (select set_config('rowpost.roleid', $4::int4::text, true)) is null))
  select set_config('rowpost.written_1', (json_build_array(json_build_array("written"."order_id"::text, "written"."label_id"::text)))::text, true)
  from "written";

select case when octet_length(a.j) <= 67108864 then a.j else rowpost_tenant.refuse('responseTooLarge') end
  from (select coalesce((select string_agg(case when "f1"."order_id" is distinct from null then '{"orders":' || coalesce((select '{"order_id":' || '"' || coalesce("f2"."order_id", null::int4)::text || '"' || '}'
  from tenant."orders" "f2"
  where "f2"."order_id" = "f1"."order_id"), 'null') || '}' else 'null' end, ','
  order by k.n)
  from json_array_elements((array_remove(array[current_setting('rowpost.written_1', true)], ''))[1]::json)
  with ordinality k(key, n)
  left join tenant."order_label" "f1" on "f1"."order_id" = (k.key ->> 0)::int4 and "f1"."label_id" = (k.key ->> 1)::text), 'null')) a(j);
