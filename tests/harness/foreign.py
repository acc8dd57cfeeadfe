"""Arrays of other libraries, each with one protocol and nothing else."""

LEFT_OUT = object()


class Described:
    """An array that has but the dictionary that says where its memory is."""

    def __init__(self, array, **changes):
        self.kept = array
        interface = {**array.__array_interface__, **changes}
        self.__array_interface__ = {k: v for k, v in interface.items() if v is not LEFT_OUT}


class WithStructure:
    """An array that has but the same as a structure of C."""

    def __init__(self, array):
        self.__array_struct__ = array.__array_struct__


class Exporting:
    """An array that has but DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


class Making:
    """An array that has but a method that makes one of NumPy's."""

    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array
