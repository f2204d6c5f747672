#!/usr/bin/env bash
# Drives the simulated devices of a live RoCE fabric, and with them the shipped agent, with the third-party client gnmic.
#   test/gnmic.sh FAIRLANE GNMIC
set -euo pipefail

fairlane=$1 gnmic=$2
dir=$(mktemp -d)
cleanup() {
	kill "$server" 2>/dev/null || true
	wait "$server" 2>/dev/null || true
	rm -rf "$dir"
}
server=
trap cleanup EXIT

"$fairlane" sim serve roce8 --dir "$dir" --addr 127.0.0.1:0 >"$dir/out" 2>&1 &
server=$!
for _ in $(seq 100); do
	address=$(sed -n 's/.*gNMI at \(127\.0\.0\.1:[0-9]*\).*/\1/p' "$dir/out")
	[ -n "$address" ] && break
	kill -0 "$server" || { cat "$dir/out"; exit 1; }
	sleep 0.1
done

run() { "$gnmic" --address "$address" --insecure --timeout 20s "$@"; }

# want WORDS COMMAND…: the command's output contains the words.
want() {
	local words=$1 out
	shift
	out=$("$@" 2>&1) || { printf '%s\n%s\n' "$*" "$out"; exit 1; }
	grep -qF -- "$words" <<<"$out" || { printf '%s\nprinted\n%s\nwithout %s\n' "$*" "$out" "$words"; exit 1; }
	echo "ok: ${*:1:1} … $words"
}

# refused WORDS COMMAND…: the command fails and its output contains the words.
refused() {
	local words=$1 out
	shift
	if out=$("$@" 2>&1); then printf '%s\nwas not refused:\n%s\n' "$*" "$out"; exit 1; fi
	grep -qF -- "$words" <<<"$out" || { printf '%s\nwas refused with\n%s\nwithout %s\n' "$*" "$out" "$words"; exit 1; }
	echo "ok: refused … $words"
}

# streams COMMAND-OF-CHANGE WORDS ARGUMENTS…: an on-change subscription prints the words after the change.
streams() {
	local change=$1 words=$2
	shift 2
	run subscribe --mode stream --stream-mode on_change "$@" >"$dir/stream" 2>&1 &
	local stream=$!
	for _ in $(seq 100); do grep -q updates "$dir/stream" && break; sleep 0.1; done
	$change >"$dir/change" 2>&1 || { cat "$dir/change"; exit 1; }
	for _ in $(seq 100); do grep -qF -- "$words" "$dir/stream" && break; sleep 0.1; done
	kill "$stream"
	wait "$stream" 2>/dev/null || true
	grep -qF -- "$words" "$dir/stream" || { cat "$dir/stream"; echo "the stream does not show $words"; exit 1; }
	echo "ok: stream … $words"
}

profile=sonic-db:/CONFIG_DB/localhost/WRED_PROFILE/AZURE_LOSSLESS
lower() {
	printf '"%s"' "$1" >"$dir/value.json"
	run set --target leaf1 --replace-path "$profile/green_min_threshold" --replace-file "$dir/value.json"
}
again() { lower 102400; }

echo "== SONiC switch"
want 'sonic-db, SONiC' run capabilities
want green_min_threshold run get --target leaf1 --path "$profile"
want REPLACE lower 204800
want '"204800"' run get --target leaf1 --path "$profile/green_min_threshold"
want green_max_threshold run subscribe --target leaf1 --path "$profile" --mode once
streams again '"102400"' --target leaf1 --path "$profile"
want SAI_QUEUE_STAT run get --target leaf1 --path sonic-db:/COUNTERS_DB/localhost/COUNTERS/Ethernet0/Queues
refused PermissionDenied run set --target leaf1 --replace-path "$profile/ecn" --replace-file "$dir/value.json"
refused NotFound run get --target leaf1 --path sonic-db:/CONFIG_DB/localhost/WRED_PROFILE/NONE

nic='/nics/nic[name=mlx5_0]/ports/port[number=1]'
rate="$nic/params/param[name=rpg_ai_rate][index=0]/config/value"
raise() { run set --target host-001 --update "$rate:::uint:::$1"; }
more() { raise 21; }

echo "== NIC host, by the agent as it ships"
want '"value": 5' run get --target host-001 --path "$nic/params/param[name=rpg_ai_rate][index=0]/config"
want UPDATE raise 20
want 'value": 20' run get --target host-001 --path "$rate"
want Mbit run get --target host-001 --path "$nic/params/param[name=rpg_ai_rate][index=0]/state" --type state
want rp_cnp_handled run subscribe --target host-001 --path "$nic/counters/counter[name=rp_cnp_handled]/state" --mode once
streams more 'value": 21' --target host-001 --path "$nic/params/param[name=rpg_ai_rate][index=0]/config"
refused '1..1023' run set --target host-001 --update "$nic/params/param[name=dce_tcp_g][index=0]/config/value:::uint:::1024"
refused NotFound run get --target host-001 --path '/nics/nic[name=none]/state'
