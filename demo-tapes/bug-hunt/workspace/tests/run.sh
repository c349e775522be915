#!/bin/sh
# Runs the cart on each case; ends with the number of cases that failed.
failed=0

check() { # name, wanted total, then what cart.awk is given
    name=$1 want=$2
    shift 2
    got=$(awk -f src/cart.awk "$@" 2>/dev/null)
    if [ "$got" = "$want" ]; then
        echo "ok    $name"
    else
        echo "FAIL  $name: wanted $want, got ${got:-nothing}"
        failed=$((failed + 1))
    fi
}

check "a plain cart" 42.00 data/small.csv
check "ten percent off" 37.80 -v discount=10 data/small.csv
check "comments are skipped" 42.00 data/commented.csv

echo "$failed failed"
exit "$failed"
