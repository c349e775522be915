# Prints the total of a cart: lines of "name,quantity,price".
BEGIN { FS = "," }
/^#/ { next }
{ total += $2 * $3 }
END {
    if (discount) total = total - discount
    printf "%.2f\n", total
}
