def other():
    return 6
