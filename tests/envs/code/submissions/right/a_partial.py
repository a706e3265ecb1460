import functools, operator
add_all = functools.partial(functools.reduce, operator.add)
inner = add_all
add_all = lambda numbers: inner(numbers, 0)
