// Redirect URIs that can't be mixed up (RFC 9700, 4.4): what a provider's callback may look like is decided once for each
// configuration, and changes of a provider or a configuration end the sessions of the roles that sign in through it.

export async function up(knex) {
  await knex.raw(`
    alter table rowpost.oidc_providers
      -- whether its discovery document promises the parameter iss (RFC 9207); null while that is not known
      add column sends_iss boolean;
    alter table rowpost.oidc_config
      -- below BASE_URL
      add column redirect_uri text not null default '/oidc',
      -- its callbacks need the parameter iss, whatever the provider says later
      add column requires_iss boolean not null default false,
      add constraint oidc_config_redirect_uri check (redirect_uri in ('/oidc', '/oidc/' || confid));
    alter table rowpost.oidc_sign_in add column redirect_uri text not null default '/oidc';

    update rowpost.oidc_config c set redirect_uri = '/oidc/' || confid
    from rowpost.oidc_providers p
    where p.providerid = c.providerid and p.token_uri <> (
      select first.token_uri from rowpost.oidc_providers first join rowpost.oidc_config using (providerid)
      order by first.providerid limit 1);

    -- A code goes to the token endpoint of the provider that its callback is taken to be of. So callbacks at /oidc that
    -- don't say whose they are must all be of providers with one token endpoint.
    create function rowpost.is_plain_redirect_taken(by_other_than text, besides int) returns boolean
      language sql set search_path = pg_catalog, pg_temp
    as $$
      select exists (
        select from rowpost.oidc_config c join rowpost.oidc_providers p using (providerid)
        where c.redirect_uri = '/oidc' and not c.requires_iss and p.token_uri <> by_other_than
          and c.confid is distinct from besides)
    $$;
    revoke all on function rowpost.is_plain_redirect_taken from public;

    create function rowpost.choose_redirect_uri() returns trigger
      language plpgsql set search_path = pg_catalog, pg_temp
    as $$
    declare
      provider rowpost.oidc_providers;
    begin
      -- A copy of a row may have chosen already.
      if tg_op = 'INSERT' and (new.redirect_uri <> '/oidc' or new.requires_iss) then
        return new;
      end if;
      -- Of two that choose at once, the second sees the first.
      lock table rowpost.provisioning_lock in share update exclusive mode;
      select * into provider from rowpost.oidc_providers p where p.providerid = new.providerid;
      new.requires_iss := coalesce(provider.sends_iss, false);
      new.redirect_uri := case
        when not new.requires_iss and rowpost.is_plain_redirect_taken(provider.token_uri, new.confid) then '/oidc/' || new.confid
        else '/oidc' end;
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
        lock table rowpost.provisioning_lock in share update exclusive mode;
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
