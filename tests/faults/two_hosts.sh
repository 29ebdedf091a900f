#!/bin/sh
# One job over two hosts: network namespaces with addresses of their own, joined by a bridge in a third one,
# where mpirun runs. The bits of the run must be those of one process with the same ranks.
#
#   sh two_hosts.sh build/release/octant
#
# Ends with 77 where such namespaces may not be made.
set -u
octant=$1
id=oct$$
work=$(mktemp -d)
network=10.$((77 + $$ % 100)).0

clean() {
  for space in "$id"hub "$id"a "$id"b; do ip netns del $space 2>/dev/null; done
  rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM

skip() { echo "SKIPPED: two hosts need network namespaces: $1"; exit 77; }
fail() { echo "FAILED: $1"; shift; for file; do echo "--- $file"; cat "$file"; done; exit 1; }

command -v ip >/dev/null || skip "there is no ip command"
ip netns add "$id"hub 2>/dev/null || skip "no right to make them"
unshare -u true 2>/dev/null || skip "no right to name a host"

connect() {  # a namespace, its end's name in the hub, its address
  ip netns add $1 &&
  ip -n "$id"hub link add name $2 type veth peer name wire netns $1 &&
  ip -n "$id"hub link set $2 master hub up &&
  ip -n $1 addr add $network.$3/24 dev wire &&
  ip -n $1 link set wire up && ip -n $1 link set lo up
}
{ ip -n "$id"hub link add name hub type bridge && ip -n "$id"hub addr add $network.1/24 dev hub &&
  ip -n "$id"hub link set hub up && ip -n "$id"hub link set lo up &&
  connect "$id"a wire_a 2 && connect "$id"b wire_b 3; } >/dev/null 2>&1 || skip "no bridge or no wires"

# mpirun's remote shell: options, the host's address, and the words of a command for its shell.
cat > "$work/agent" <<AGENT
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
case \$1 in *.2) host=a ;; *.3) host=b ;; *) exit 1 ;; esac
shift
exec ip netns exec $id\$host unshare -u /bin/sh -c "hostname octant-\$host; \$*"
AGENT
chmod +x "$work/agent"
printf '%s slots=2\n%s slots=2\n' $network.2 $network.3 > "$work/hosts"

cd "$work"
seq 1 2000 > corpus.txt
cat > job.pbtxt <<'JOB'
name: "two-hosts"
output_dir: "out"
model { family: GPT2 num_layers: 4 hidden_size: 32 num_attention_heads: 4 vocab_size: 257 sequence_length: 16 }
data { train { text { path: "corpus.txt" tokenizer { bytes {} } } } }
batch { global_batch_size: 8 micro_batch_size: 2 }
optimizer { adamw { learning_rate: 1e-3 } }
training { steps: 8 }
checkpoint { interval: 4 }
device { threads_per_rank: 1 }
JOB

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
over_two_hosts() {  # an output folder, and the job's overrides
  ip netns exec "$id"hub timeout 60 mpirun --hostfile hosts --mca plm_rsh_agent "$work/agent" \
    --mca btl tcp,vader,self --mca btl_tcp_if_include $network.0/24 --mca oob_tcp_if_include $network.0/24 \
    --bind-to none --map-by node -np 4 "$octant" train "$work/job.pbtxt" --set output_dir="$work/$1" \
    --set data.train[0].text.path="$work/corpus.txt" $2
}
columns() { sed 's/.*\("loss":[^,]*\),\("grad_norm":[^,]*\),.*/\1 \2/' "$1/metrics.jsonl"; }

for layout in "--set parallel={data:2,tensor:2} --set zero_optimization.stage=2" \
              "--set parallel={data:2,pipeline:2} --set zero_optimization.stage=3"; do
  rm -rf two one
  over_two_hosts two "$layout" > stdout 2> stderr ||
    fail "the run over two hosts ended with $?" stdout stderr
  "$octant" train job.pbtxt --set output_dir=one $layout > stdout 2> stderr ||
    fail "the run of one process ended with $?" stdout stderr
  for host in a b; do
    grep -q "octant-$host" two/logs/*.log || fail "no rank ran on host $host" two/logs/*.log
  done
  columns two > two.txt
  columns one > one.txt
  [ "$(wc -l < one.txt)" -eq 8 ] || fail "not 8 steps" one.txt
  cmp -s one.txt two.txt || fail "losses and norms differ between two hosts and one process" one.txt two.txt
  "$octant" checkpoint diff two one > stdout 2> stderr || fail "the checkpoints differ" stdout stderr
done

# What is wrong on the second host is said by the first words of the job's one message.
over_two_hosts bad "--set parallel.data=4 --set data.train[0].text.path=$work/nowhere.txt" > stdout 2> stderr
code=$?
[ $code -eq 3 ] || fail "a missing file gave $code" stderr
[ "$(grep -c 'octant: ' stderr)" -eq 1 ] || fail "not one message" stderr
echo "two hosts give the bits of one process"
