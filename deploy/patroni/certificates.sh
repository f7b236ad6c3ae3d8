#!/bin/sh
# The certificates of etcd, Patroni and PostgreSQL: certificates.sh <folder> db1 db2 db3
# Makes a CA in the folder at the first run, and <server>.crt and <server>.key for each server that has none yet. Keep ca.key offline:
# who has it, or a key of a server, may change who leads. To each server, as mode 0600 of the user of its programs:
#   ca.crt, <server>.crt as server.crt and <server>.key as server.key in /etc/patroni (of postgres) and /etc/etcd (of etcd)
# To each machine with HAProxy ca.crt as /etc/haproxy/patroni-ca.crt, and to Rowpost's ca.crt for sslrootcert.
set -eu
umask 077
folder=$1
shift
mkdir -p "$folder"
cd "$folder"

new_key='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
if [ ! -f ca.key ]; then
  openssl req -x509 $new_key -days 3650 -subj '/CN=rowpost database CA' -keyout ca.key -out ca.crt 2>/dev/null
  chmod 0644 ca.crt
fi
for server in "$@"; do
  [ ! -f "$server.crt" ] || continue
  openssl req $new_key -subj "/CN=$server" -keyout "$server.key" -out "$server.csr" 2>/dev/null
  printf '%s\n' \
    "subjectAltName=DNS:$server,DNS:localhost,IP:127.0.0.1" \
    'extendedKeyUsage=serverAuth,clientAuth' > "$server.ext"
  openssl x509 -req -in "$server.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 825 -extfile "$server.ext" \
    -out "$server.crt" 2>/dev/null
  rm "$server.csr" "$server.ext"
done
