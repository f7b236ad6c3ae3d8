// Redirect URIs that can't be mixed up (RFC 9700, 4.4): what a provider's callback may look like is decided once for each
// configuration, and changes of a provider or a configuration end the sessions of the roles that sign in through it.

export async function up(knex) {
  await knex.raw(`
    alter table rowpost.oidc_providers
      -- whether its discovery document promises the parameter iss (RFC 9207); null while that is not known
      add column sends_iss boolean;
    alter table rowpost.oidc_config
      -- below BASE_URL
      add column redirect_uri text,
      -- its callbacks need the parameter iss, whatever the provider says later
      add column requires_iss boolean not null default false,
      add constraint oidc_config_redirect_uri check (redirect_uri in ('/oidc', '/oidc/' || confid));
    alter table rowpost.oidc_sign_in add column redirect_uri text not null default '/oidc';

    -- A code goes to the token endpoint of the provider that its callback is taken to be of. So callbacks at /oidc that
    -- don't say whose they are must all be of providers with this token endpoint. All cells have one BASE_URL: only in the one
    -- that was an installation of its own there is a row.
    create table rowpost.plain_redirect (
      token_uri text not null,
      one_row boolean primary key default true check (one_row)
    );
    insert into rowpost.plain_redirect (token_uri)
      select p.token_uri from rowpost.oidc_providers p join rowpost.oidc_config using (providerid)
      where not exists (select from rowpost.cell where own and id_range <> 0)
      order by p.providerid limit 1;
    update rowpost.oidc_config c set redirect_uri = case
      when exists (select from rowpost.plain_redirect o where o.token_uri = p.token_uri) then '/oidc'
      else '/oidc/' || confid end
    from rowpost.oidc_providers p where p.providerid = c.providerid;
    alter table rowpost.oidc_config alter column redirect_uri set not null;

    -- Tenants that moved to other cells took theirs along, so in a cell it is never given to another token endpoint.
    create function rowpost.is_plain_redirect_taken(by_other_than text, besides int) returns boolean
      language sql set search_path = pg_catalog, pg_temp
    as $$
      select case
        when o.token_uri is null then exists (select from rowpost.cell where own and id_range <> 0)
        else o.token_uri <> by_other_than and (exists (select from rowpost.cell) or exists (
          select from rowpost.oidc_config c
          where c.redirect_uri = '/oidc' and not c.requires_iss and c.confid is distinct from besides))
        end
      from (select (select token_uri from rowpost.plain_redirect) as token_uri) o
    $$;
    revoke all on function rowpost.is_plain_redirect_taken from public;

    -- Whether callbacks of the token endpoint may come to /oidc. A tenant may keep its transaction open, so others wait for
    -- it only where /oidc passes from one token endpoint to another.
    create function rowpost.take_plain_redirect(for_tokens_of text, besides int) returns boolean
      language plpgsql set search_path = pg_catalog, pg_temp
    as $$
    begin
      loop
        if rowpost.is_plain_redirect_taken(for_tokens_of, besides) then
          return false;
        end if;
        insert into rowpost.plain_redirect (token_uri) values (for_tokens_of) on conflict do nothing;
        if found then
          return true;
        end if;
        perform from rowpost.plain_redirect where token_uri = for_tokens_of for share;
        if found then
          return true;
        end if;
        perform from rowpost.plain_redirect for update;
        -- As it is now that nobody else changes it.
        if not rowpost.is_plain_redirect_taken(for_tokens_of, besides) then
          update rowpost.plain_redirect set token_uri = for_tokens_of;
          return true;
        end if;
      end loop;
    end $$;
    revoke all on function rowpost.take_plain_redirect from public;

    create function rowpost.choose_redirect_uri() returns trigger
      language plpgsql set search_path = pg_catalog, pg_temp
    as $$
    declare
      provider rowpost.oidc_providers;
    begin
      -- A copy of a row has chosen already.
      if tg_op = 'INSERT' and new.redirect_uri is not null then
        return new;
      end if;
      select * into provider from rowpost.oidc_providers p where p.providerid = new.providerid;
      new.requires_iss := coalesce(provider.sends_iss, false);
      new.redirect_uri := case
        when new.requires_iss or rowpost.take_plain_redirect(provider.token_uri, new.confid) then '/oidc'
        else '/oidc/' || new.confid end;
      return new;
    end $$;
    revoke all on function rowpost.choose_redirect_uri from public;
    create trigger choose_redirect_uri before insert on rowpost.oidc_config
      for each row execute function rowpost.choose_redirect_uri();
    create trigger choose_redirect_uri_again before update of providerid on rowpost.oidc_config
      for each row when (new.providerid <> old.providerid) execute function rowpost.choose_redirect_uri();

    create function rowpost.end_configured_sessions() returns trigger
      language plpgsql set search_path = pg_catalog, pg_temp
    as $$
    begin
      perform rowpost.end_sessions(array(select m.roleid from rowpost.role_oidc m where m.confid = old.confid));
      return coalesce(new, old);
    end $$;
    revoke all on function rowpost.end_configured_sessions from public;
    create trigger end_configured_sessions after update on rowpost.oidc_config
      for each row when ((new.providerid, new.client_id) is distinct from (old.providerid, old.client_id))
      execute function rowpost.end_configured_sessions();
    create trigger end_sessions_of_deleted before delete on rowpost.oidc_config
      for each row execute function rowpost.end_configured_sessions();

    create function rowpost.follow_provider() returns trigger
      language plpgsql set search_path = pg_catalog, pg_temp
    as $$
    begin
      if new.token_uri <> old.token_uri then
        perform from rowpost.plain_redirect for update;
        update rowpost.plain_redirect o set token_uri = new.token_uri
          where o.token_uri = old.token_uri and not exists (select from rowpost.cell) and not exists (
            select from rowpost.oidc_config c
            where c.redirect_uri = '/oidc' and not c.requires_iss and c.providerid <> new.providerid);
        if rowpost.is_plain_redirect_taken(new.token_uri, null) then
          update rowpost.oidc_config c set redirect_uri = '/oidc/' || c.confid
          where c.providerid = new.providerid and not c.requires_iss;
        end if;
      end if;
      perform rowpost.end_sessions(array(
        select m.roleid from rowpost.role_oidc m join rowpost.oidc_config c using (confid)
        where c.providerid = new.providerid));
      return null;
    end $$;
    revoke all on function rowpost.follow_provider from public;
    create trigger follow_provider after update on rowpost.oidc_providers
      for each row when (
        (new.auth_uri, new.token_uri, new.jwks_uri, new.issuer, new.comparison_field, new.email_always_verified)
        is distinct from
        (old.auth_uri, old.token_uri, old.jwks_uri, old.issuer, old.comparison_field, old.email_always_verified))
      execute function rowpost.follow_provider();
  `);
}

// knex wants one. Migrations go forward only: what went wrong is mended by the next one.
export async function down() {
  throw new Error('Migrations go forward only.');
}
